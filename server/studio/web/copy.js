// <weft-copy>: text with a button that copies it.

class Copy extends HTMLElement {
  connectedCallback() {
    if (this.querySelector('button')) return
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = 'Copy'
    const said = this.querySelector('code') ?? this
    button.setAttribute('aria-label', 'Copy: ' + (said.textContent ?? '').slice(0, 200))
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
  }
}

customElements.define('weft-copy', Copy)
