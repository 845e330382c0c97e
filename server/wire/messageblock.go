package wire

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/weftrun/weft/state/message"
)

// readContent reads content: a string, a list of blocks, or null.
func readContent(data json.RawMessage) (parts []message.Part, err error) {
	if isNull(data) {
		return nil, nil
	}
	var said string
	if json.Unmarshal(data, &said) == nil {
		if said == "" {
			return nil, nil
		}
		return []message.Part{message.Text(said)}, nil
	}
	var blocks []json.RawMessage
	if json.Unmarshal(data, &blocks) != nil {
		return nil, errors.New("content must be a string or a list of blocks")
	}
	for i, b := range blocks {
		var p message.Part
		switch {
		case json.Unmarshal(b, &said) == nil && !isNull(b):
			p = message.Text(said)
		default:
			if p, err = readBlock(b); err != nil {
				return nil, fmt.Errorf("content: block %d: %w", i, err)
			}
		}
		parts = append(parts, p)
	}
	return parts, nil
}

func readBlock(data json.RawMessage) (p message.Part, err error) {
	b := members(data)
	switch kind := text(b["type"]); {
	case b == nil || kind == "":
		return p, errors.New("it must be a string, or an object with a type")
	case kind == "image_url":
		if image, ok := readImageURL(b); ok {
			return image, nil
		}
	case kind == message.TypeImage:
		if image, ok := readImage(b); ok {
			return image, nil
		}
		return p, errors.New("an image must have a url, or data and mime_type")
	}
	for name, v := range b {
		if isNull(v) && name != "data" {
			delete(b, name)
		}
	}
	data, _ = json.Marshal(b) // of JSON
	if err = json.Unmarshal(data, &p); err == nil && p.Type == message.TypeData && p.Data == nil {
		err = errors.New("it must have data")
	}
	return p, err
}

// rest returns the members of a block but these.
func rest(b map[string]json.RawMessage, without ...string) map[string]json.RawMessage {
	left := maps.Clone(b)
	maps.DeleteFunc(left, func(name string, v json.RawMessage) bool { return slices.Contains(without, name) || isNull(v) })
	if len(left) == 0 {
		return nil
	}
	return left
}

func readImageURL(b map[string]json.RawMessage) (p message.Part, ok bool) {
	at := members(b["image_url"])
	url := text(at["url"])
	if at == nil {
		url = text(b["image_url"])
	}
	if url == "" {
		return p, false
	}
	p = message.ImageURL(url)
	p.MIME = text(b["mime_type"])
	p.Extra = rest(b, "type", "image_url", "mime_type", "url", "bytes", "mime")
	if more := rest(at, "url"); more != nil {
		if p.Extra == nil {
			p.Extra = map[string]json.RawMessage{}
		}
		p.Extra["image_url"], _ = json.Marshal(more) // of JSON
	}
	return p, true
}

// readImage reads the forms of an image that libraries of LangChain and Weft use.
func readImage(b map[string]json.RawMessage) (p message.Part, ok bool) {
	first := func(names ...string) string {
		for _, n := range names {
			if s := text(b[n]); s != "" {
				return s
			}
		}
		return ""
	}
	mime := first("mime_type", "mimeType", "mime")
	extra := rest(b, "type", "source_type", "mime_type", "mimeType", "mime", "data", "bytes", "url", "image_url")
	if url := first("url"); url != "" {
		return message.Part{Type: message.TypeImage, URL: url, MIME: mime, Extra: extra}, true
	}
	bits, err := base64.StdEncoding.DecodeString(first("data", "bytes"))
	if err != nil || len(bits) == 0 || mime == "" {
		return p, false
	}
	return message.Part{Type: message.TypeImage, MIME: mime, Bytes: bits, Extra: extra}, true
}
