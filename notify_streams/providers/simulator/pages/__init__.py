"""What a person sees of the simulator: everything that came in, each message, and how the providers do."""
