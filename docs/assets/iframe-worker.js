// Search of the documentation site without a server. Browsers refuse workers for pages that are opened as files, so
// the search worker runs in a hidden frame instead. mkdocs-material's plugin "offline" expects a script with this name,
// and would otherwise fetch one from a server; see https://squidfunk.github.io/mkdocs-material/plugins/offline/.
"use strict"

class IFrameWorker extends EventTarget {
  constructor(url) {
    super()
    this.frame = document.createElement("iframe")
    this.frame.hidden = true
    document.body.appendChild(this.frame)
    const inside = this.frame.contentWindow
    // Messages of the worker arrive at this window, with the frame as their source.
    window.addEventListener("message", (event) => {
      if (event.source === inside) {
        this.dispatchEvent(new MessageEvent("message", { data: event.data }))
      }
    })
    this.loaded = new Promise((resolve, reject) => {
      const script = inside.document.createElement("script")
      script.src = url
      script.onload = resolve
      script.onerror = reject
      inside.postMessage = (data) => window.dispatchEvent(new MessageEvent("message", { data, source: inside }))
      inside.document.body.appendChild(script)
    })
  }

  postMessage(data) {
    this.loaded.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })))
  }

  terminate() {
    this.frame.remove()
  }
}

if (location.protocol === "file:") {
  window.IFrameWorker = IFrameWorker
  window.Worker = IFrameWorker
}
