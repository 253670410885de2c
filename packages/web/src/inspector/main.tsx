import "../shared/theme.css";
import "../shared/base.css";
import "./inspector.css";
import { render } from "preact";
import { App } from "./app.tsx";

const app = document.getElementById("app");
if (app !== null) render(<App />, app);
