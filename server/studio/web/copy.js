// <weft-copy>: text with a button that copies it.

class Copy extends HTMLElement {
  connectedCallback() {
    if (this.querySelector('button')) return
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = 'Copy'
    const said = this.querySelector('code') ?? this
    button.onclick = async () => {
      try {
        await navigator.clipboard.writeText(said.textContent ?? '')
        button.textContent = 'Copied'
      } catch {
        getSelection()?.selectAllChildren(said)
        button.textContent = 'Selected'
      }
      setTimeout(() => { button.textContent = 'Copy' }, 1500)
    }
    this.append(button)
    this.label()
  }

  /**
   * Shows another command, or nothing for one that a form with mistakes does not have.
   * @param {string} [command]
   */
  show(command) {
    this.hidden = !command
    this.querySelector('code')?.replaceChildren(command ?? '')
    this.label()
  }

  /** Names the button by the text. */
  label() {
    const said = this.querySelector('code') ?? this.firstChild
    this.querySelector('button')?.setAttribute('aria-label', 'Copy: ' + (said?.textContent ?? '').slice(0, 200))
  }
}

customElements.define('weft-copy', Copy)
