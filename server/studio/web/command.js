// <weft-command data-input>: the command of the form around it, which the server writes while the
// form is filled in.

class Command extends HTMLElement {
  connectedCallback() {
    const form = this.closest('form')
    form?.addEventListener('input', () => {
      clearTimeout(this.timer)
      this.timer = setTimeout(() => this.ask(form), 120)
    })
    if (form) this.ask(form)
  }

  async ask(form) {
    const mine = this.number = (this.number ?? 0) + 1
    let command
    try {
      const answer = await fetch(this.dataset.input ?? '', { method: 'POST', body: new URLSearchParams(/** @type {any} */ (new FormData(form))) })
      if (answer.ok) command = (await answer.json()).command
    } catch {
      // the page shows that the connection is lost
    }
    if (mine !== this.number) return
    this.hidden = !command
    ;/** @type {any} */ (this.querySelector('weft-copy')).show(command)
  }
}

customElements.define('weft-command', Command)
