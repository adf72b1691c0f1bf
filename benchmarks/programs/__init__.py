"""Programs, models and ranks that suites start in processes of their own."""
