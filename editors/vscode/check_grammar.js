"use strict";

// Color configurations as VS Code does, with its own tokenizer: node check_grammar.js FILE...
// Fails where the first word of a line that begins a directive or section has no scope.

const fs = require("fs");
const path = require("path");
const oniguruma = require("vscode-oniguruma");
const { INITIAL, Registry, parseRawGrammar } = require("vscode-textmate");

const GRAMMAR = path.join(__dirname, "syntaxes/httpd.tmLanguage.json");
const ENGINE = path.join(path.dirname(require.resolve("vscode-oniguruma")), "onig.wasm");

// Return the lines of a text whose first word has no scope but that of the language.
function plainLines(grammar, text) {
  let state = INITIAL;
  let isJoined = false;
  const plain = [];
  text.split(/\r?\n/).forEach((line, index) => {
    const result = grammar.tokenizeLine(line, state);
    state = result.ruleStack;
    const word = /^\s*(<\/?)?[A-Za-z]/.exec(line);
    if (word && !isJoined) {
      const place = word[0].length - 1;
      const token = result.tokens.find((one) => one.startIndex <= place && place < one.endIndex);
      if (!token || token.scopes.length < 2) {
        plain.push(index + 1);
      }
    }
    isJoined = line.endsWith("\\");
  });
  return plain;
}

async function main(files) {
  await oniguruma.loadWASM(fs.readFileSync(ENGINE).buffer);
  const registry = new Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async () => parseRawGrammar(fs.readFileSync(GRAMMAR, "utf8"), GRAMMAR),
  });
  const grammar = await registry.loadGrammar("source.httpd");
  let faults = 0;
  for (const file of files) {
    for (const number of plainLines(grammar, fs.readFileSync(file, "latin1"))) {
      console.error(`${file}:${number}: the line has no color`);
      faults += 1;
    }
  }
  console.log(`${files.length} files, ${faults} lines without a color`);
  process.exitCode = files.length && !faults ? 0 : 1;
}

main(process.argv.slice(2));
