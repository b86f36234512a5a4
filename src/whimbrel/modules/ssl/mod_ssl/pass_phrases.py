"""Pass phrases of private keys (SSLPassPhraseDialog): of the terminal, a program for each key, or a pipe."""

from __future__ import annotations

import getpass
import os
import subprocess
import sys
from typing import Final

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.programs import may_start_programs, require_programs
from whimbrel.directives.tokens import words
from whimbrel.modules.ssl.mod_ssl.settings import PassPhraseDialog

_KINDS: Final = ("RSA", "DSA", "ECC")
PROMPT: Final = "Enter pass phrase:"
RETRIES: Final = 3  # of the terminal
TIMEOUT: Final = 60.0  # seconds for a program to print its pass phrase


class PassPhrases:
    """Dialogs of a start; phrases given before are tried for more keys; *program*: in the first line."""

    def __init__(self, program: str) -> None:
        self.known: list[str] = []
        self._program = program
        self._is_begun = False
        self._pipes: dict[str, subprocess.Popen[bytes]] = {}

    def obtain(
        self, dialog: PassPhraseDialog, server: str, index: int, file: str, kind: str = ""
    ) -> str | None:
        """Return another pass phrase for the key number *index* of *server* (``name:port``), or None.

        *kind* is the kind of the key in 2.2.
        """
        if not may_start_programs():
            return None  # nor does a tool wait for a terminal
        if dialog.kind == "exec":
            return self._run(dialog.command, server, kind or (_KINDS[index] if index < 3 else str(index)))
        prompt = f"Server {server} ({kind})" if kind else f"Private key {server}:{index} ({file})"
        if dialog.kind == "pipe":
            return self._from_pipe(dialog.command, prompt)
        self._begin()
        sys.stdout.write(f"{prompt}\n")
        return self._from_terminal()

    def _begin(self) -> None:
        if not self._is_begun:
            self._is_begun = True
            sys.stdout.write(
                f"{self._program} (Pass Phrase Dialog)\nSome of your private key files are encrypted for "
                "security reasons.\nIn order to read them you have to provide the pass phrases.\n\n"
            )

    def _from_terminal(self) -> str | None:
        try:
            os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
        except OSError:
            sys.stdout.write(PROMPT)
            sys.stdout.flush()
            line = sys.stdin.readline() if sys.stdin is not None else ""
            return line.rstrip("\r\n") if line else None
        sys.stdout.flush()
        try:
            return to_text(getpass.getpass(PROMPT).encode()) or None
        except EOFError:
            return None

    @staticmethod
    def _run(command: str, server: str, kind: str) -> str | None:
        """Return the first line that the program prints."""
        arguments = [to_bytes(command), to_bytes(server), to_bytes(kind)]
        try:
            require_programs()
            completed = subprocess.run(
                arguments, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=TIMEOUT, check=False
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return to_text(completed.stdout).partition("\n")[0].rstrip("\r") or None

    def _from_pipe(self, command: str, prompt: str) -> str | None:
        """Return the next line of the program, which reads prompts and lives until the end of the start."""
        try:
            pipe = self._pipes.get(command)
            if pipe is None:
                require_programs()
                arguments = [to_bytes(word) for word in words(command)]
                pipe = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                self._pipes[command] = pipe
            assert pipe.stdin is not None and pipe.stdout is not None
            pipe.stdin.write(to_bytes(f"{prompt}\n{PROMPT}\n"))
            pipe.stdin.flush()
            return to_text(pipe.stdout.readline()).rstrip("\r\n") or None
        except (OSError, subprocess.SubprocessError):
            return None

    def failed(self) -> None:
        """End the dialog on the terminal without a key."""
        if self._is_begun:
            sys.stdout.write("Apache:mod_ssl:Error: Private key not found.\n**Stopped\n")
            sys.stdout.flush()

    def refused(self, left: int) -> None:
        """Report that the last phrase was wrong; *left* further attempts are permitted."""
        if self._is_begun:
            tries = f"{left} more retr{'y' if left == 1 else 'ies'} permitted"
            sys.stdout.write(f"Apache:mod_ssl:Error: Pass phrase incorrect ({tries}).\n")

    def close(self) -> None:
        """End the dialog and its programs; forget the phrases."""
        if self._is_begun:
            sys.stdout.write("\nOK: Pass Phrase Dialog successful.\n")
            sys.stdout.flush()
        self.end()

    def end(self) -> None:
        """End the programs; forget the phrases."""
        self.known.clear()
        for pipe in self._pipes.values():
            if pipe.stdin is not None:
                pipe.stdin.close()
            if pipe.stdout is not None:
                pipe.stdout.close()
            pipe.wait()
        self._pipes.clear()
