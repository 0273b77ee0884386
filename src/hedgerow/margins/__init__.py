"""Workloads of margins: all tables of several columns, from one vector, agreeing with one another."""
