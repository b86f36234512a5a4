"""Images of a machine (copies of ``/``) as the input of each tool."""
