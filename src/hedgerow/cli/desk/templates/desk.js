"use strict";
// Hand the token over for a cookie, and take it out of the address.
const token = location.hash.slice(1), entering = document.getElementById("entering");
if (entering && token) {
  history.replaceState(null, "", "/");
  fetch("/enter", { method: "POST", body: new URLSearchParams({ token }) }).then(async (answer) => {
    if (answer.ok) location.replace(await answer.text());
    else entering.textContent = "Refused: the token is not valid (HG335). Open the address that the command printed.";
  });
}
// Say the forecast beside the slider; without this script the button shows the same.
const form = document.getElementById("ask");
form?.addEventListener("change", async () => {
  document.getElementById("chosen").value = form.elements.epsilon.value;
  const answer = await fetch(`${form.dataset.forecast}?${new URLSearchParams(new FormData(form))}`);
  document.getElementById("forecast").textContent = await answer.text();
});
