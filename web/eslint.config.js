import eslint from "@eslint/js";
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["node_modules/"] },
  eslint.configs.recommended,
  {
    files: ["**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      // A number in a template is what most of the text on a chart is made of.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
    },
  },
  {
    files: ["**/*.js"],
    languageOptions: {
      // Of node, and of the page in which parts of the scripts run.
      globals: Object.fromEntries(
        [
          "EventSource", "URL", "URLSearchParams", "WebSocket", "clearInterval", "console", "document",
          "fetch", "getComputedStyle", "location", "matchMedia", "navigator", "open", "performance", "process",
          "requestAnimationFrame", "setInterval", "setTimeout",
        ].map((name) => [name, "readonly"]),
      ),
    },
  },
);
