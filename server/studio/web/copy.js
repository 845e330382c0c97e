// <weft-copy>: text with a button that copies it.

class Copy extends HTMLElement {
  connectedCallback() {
    if (this.querySelector('button')) return
    const button = document.createElement('button')
    button.type = 'button'
    button.textContent = 'Copy'
    button.setAttribute('aria-label', 'Copy: ' + this.textContent)
    const text = this.textContent ?? ''
    button.onclick = async () => {
      try {
        await navigator.clipboard.writeText(text)
        button.textContent = 'Copied'
      } catch {
        getSelection()?.selectAllChildren(this.querySelector('code') ?? this)
        button.textContent = 'Selected'
      }
      setTimeout(() => { button.textContent = 'Copy' }, 1500)
    }
    this.append(button)
  }
}

customElements.define('weft-copy', Copy)
