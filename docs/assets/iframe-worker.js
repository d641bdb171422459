// Workers of pages that are opened from the disk, where browsers allow none: the script runs in a hidden frame.
// The search of the guide is such a worker. On a server, window.Worker stays what it is.
(() => {
  if (window.location.protocol !== "file:") return

  class FrameWorker extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.appendChild(this.frame)
      const inner = this.frame.contentWindow
      this.ready = new Promise((resolve) => {
        inner.started = resolve
      })
      // What the script calls of a worker's global scope
      inner.answer = (data) => {
        const event = new MessageEvent("message", { data })
        if (this.onmessage) this.onmessage(event)
        this.dispatchEvent(event)
      }
      const scope = `
        postMessage = (data) => answer(data)
        importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((resolve, reject) => {
          const script = document.createElement("script")
          script.src = url
          script.onload = resolve
          script.onerror = reject
          document.head.appendChild(script)
        })), Promise.resolve())`
      inner.document.open()
      inner.document.write(
        `<!doctype html><script>${scope}<\/script><script src="${new URL(url, document.baseURI)}" onload="started()"><\/script>`,
      )
      inner.document.close()
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })))
    }

    terminate() {
      this.frame.remove()
    }
  }

  window.Worker = FrameWorker
})()
