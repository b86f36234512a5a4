"""What a check found, as one model with several faces: text, JSON, SARIF, GitHub's annotations, HTML, JUnit."""
