// Type-checks and lints in one process: what the compiler knows of the types, the rules need too.
// Prints what is wrong; the exit code is 1 where anything is.

import { ESLint } from "eslint";
import ts from "typescript";

const here = { getCanonicalFileName: (name) => name, getCurrentDirectory: () => process.cwd(), getNewLine: () => "\n" };

/** The program that tsconfig.json describes. */
function compiled() {
  const config = ts.getParsedCommandLineOfConfigFile("tsconfig.json", undefined, {
    ...ts.sys,
    onUnRecoverableConfigFileDiagnostic: (error) => {
      throw new Error(ts.formatDiagnostic(error, here));
    },
  });
  return ts.createProgram({
    rootNames: config.fileNames,
    options: config.options,
    configFileParsingDiagnostics: config.errors,
  });
}

const program = compiled();
const errors = ts.sortAndDeduplicateDiagnostics(ts.getPreEmitDiagnostics(program));
if (errors.length > 0) console.log(ts.formatDiagnostics(errors, here));

const eslint = new ESLint({
  overrideConfig: {
    files: ["**/*.ts"],
    languageOptions: { parserOptions: { projectService: false, programs: [program] } },
  },
});
const results = await eslint.lintFiles(["."]);
const formatter = await eslint.loadFormatter("stylish");
const found = await formatter.format(results);
if (found) console.log(found);

const isClean = results.every((file) => file.errorCount === 0 && file.warningCount === 0);
process.exitCode = errors.length === 0 && isClean ? 0 : 1;
