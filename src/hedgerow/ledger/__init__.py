"""Remember spending: one file a data set, in which every price is reserved before data are read."""
