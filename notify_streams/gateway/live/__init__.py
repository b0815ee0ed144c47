"""The live stream: every change of an inbox as it comes, once and in order, across reconnects and gateways."""
