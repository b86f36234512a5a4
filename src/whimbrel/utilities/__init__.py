"""What httpd's utilities share: their command lines, prompts, password hashes, file replacement and DBM files."""
