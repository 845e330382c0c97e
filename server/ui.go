package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/weftrun/weft/server/wire"
)

// The files of a bundle of components.
const (
	uiScript = "entrypoint.js"
	uiStyle  = "entrypoint.css"
)

func noUI(name string) *wire.Error {
	return wire.Errorf(wire.CodeNotFound, "UI %.100q not found", name)
}

// showComponent answers with the HTML that loads a component of a bundle.
func showComponent(c *call) error {
	name := c.PathValue("name")
	files := c.server.config.UI[name]
	var q struct {
		Name string `json:"name"`
	}
	if err := c.decode(&q); err != nil {
		return err
	}
	if files == nil {
		return noUI(name)
	}
	if q.Name == "" {
		return invalid("name must be set")
	}
	scheme := "http"
	if c.TLS != nil {
		scheme = "https"
	}
	base := html.EscapeString(fmt.Sprintf("%s://%s/ui/%s/", scheme, c.Host, name))
	component, _ := json.Marshal(q.Name) // of a string; it escapes what HTML needs
	page := ""
	if _, err := fs.Stat(files, uiStyle); err == nil {
		page = `<link rel="stylesheet" href="` + base + uiStyle + `" />` + "\n"
	}
	page += fmt.Sprintf(`<script src="%s%s" onload='__LGUI_%s.render(%s, "{{shadowRootId}}")'></script>`,
		base, uiScript, scriptName(name), strings.ReplaceAll(string(component), "'", "&#39;"))
	return c.write(http.StatusOK, "text/html; charset=utf-8", []byte(page))
}

// scriptName returns the name of a bundle as a part of a name in JavaScript.
func scriptName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, name)
}

// getUIFile answers with a file of a bundle.
func getUIFile(c *call) error {
	name, file := c.PathValue("name"), c.PathValue("file")
	files := c.server.config.UI[name]
	if files == nil || !fs.ValidPath(file) {
		return noUI(name)
	}
	data, err := fs.ReadFile(files, file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return noUI(name + "/" + file)
	}
	if err != nil {
		return err
	}
	kind := mime.TypeByExtension(path.Ext(file))
	if kind == "" {
		kind = "application/octet-stream"
	}
	c.w.Header().Set("X-Content-Type-Options", "nosniff")
	return c.write(http.StatusOK, kind, data)
}
