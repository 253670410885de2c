import "../shared/theme.css";
import "../shared/base.css";
import "./inspector.css";
import { render } from "preact";
import { App } from "./app.tsx";

const app = document.getElementById("app");
// In a task of its own, so that the page answers between being read and being drawn.
if (app !== null) setTimeout(() => render(<App />, app), 0);
