"use strict";

// Start `whimbrel lsp` for configurations of httpd; show the explanation of a URL in a document beside.

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function makeClient() {
  const [command, ...args] = vscode.workspace.getConfiguration("whimbrel").get("command");
  const files = vscode.workspace.createFileSystemWatcher("**/{*.conf,.htaccess,sites-*/*,mods-*/*}");
  return new LanguageClient(
    "whimbrel",
    "Whimbrel",
    { command, args },
    {
      documentSelector: [{ language: "apacheconf" }],
      initializationOptions: { mainFile: vscode.workspace.getConfiguration("whimbrel").get("mainFile") },
      synchronize: { configurationSection: "whimbrel", fileEvents: files },
    },
  );
}

async function start() {
  client = makeClient();
  try {
    await client.start();
  } catch (problem) {
    vscode.window.showErrorMessage(
      `whimbrel lsp does not start: ${problem}. Install it: pip install 'whimbrel[lsp]'`,
    );
  }
}

async function explain() {
  const url = await vscode.window.showInputBox({ prompt: "URL to explain", value: "http://localhost/" });
  if (!url || !client) {
    return;
  }
  const editor = vscode.window.activeTextEditor;
  const uri = editor ? editor.document.uri.toString() : "";
  const content = await client.sendRequest("workspace/executeCommand", {
    command: "whimbrel.explainUrl",
    arguments: [url, uri],
  });
  const shown = await vscode.workspace.openTextDocument({ content, language: "plaintext" });
  await vscode.window.showTextDocument(shown, { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true });
}

async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("whimbrel.explain", explain),
    vscode.commands.registerCommand("whimbrel.restart", async () => {
      await deactivate();
      await start();
    }),
  );
  await start();
}

async function deactivate() {
  const running = client;
  client = undefined;
  if (running) {
    await running.stop();
  }
}

module.exports = { activate, deactivate };
