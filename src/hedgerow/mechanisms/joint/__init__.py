"""What one noisy vector of joint moments tells: its numbers, and the weights that price them."""
