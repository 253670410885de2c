import "../shared/theme.css";
import { render } from "preact";

const app = document.getElementById("app");
if (app !== null) render(<main>The inspector is being built.</main>, app);
