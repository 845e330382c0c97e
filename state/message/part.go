package message

import (
	"encoding/json"

	"github.com/weftrun/weft/state"
)

// Part is a piece of content. A part of another type than those below is specific to a provider,
// such as a thought with its signature. Extra holds all its fields.
type Part struct {
	Type string
	Text string          // of TypeText
	Data json.RawMessage // of TypeData: any JSON value
	// URL or Bytes hold an image; MIME is its media type, which Bytes need.
	URL   string
	Bytes []byte
	MIME  string
	// Extra holds the fields that this package does not know.
	Extra map[string]json.RawMessage
}

// The types of parts that this package knows.
const (
	TypeText  = "text"  // {"type":"text","text":"…"}
	TypeData  = "data"  // {"type":"data","data":…}
	TypeImage = "image" // {"type":"image","url":"…"} or {"type":"image","bytes":"base64","mime":"image/png"}
)

// Text returns a part that is plain text.
func Text(s string) Part { return Part{Type: TypeText, Text: s} }

// Data returns a part that is v as JSON.
func Data(v any) (Part, error) {
	if err := state.CheckText(v); err != nil {
		return Part{}, err
	}
	data, err := json.Marshal(v)
	return Part{Type: TypeData, Data: data}, err
}

// ImageURL returns an image that is found at url.
func ImageURL(url string) Part { return Part{Type: TypeImage, URL: url} }

// ImageBytes returns an image of a media type, such as "image/png".
func ImageBytes(mime string, data []byte) Part {
	return Part{Type: TypeImage, MIME: mime, Bytes: data}
}

// plain reports whether the part is text and nothing else.
func (p Part) plain() bool { return p.Type == TypeText && len(p.Extra) == 0 }

// MarshalJSON returns the fields that belong to the part's type, and Extra.
func (p Part) MarshalJSON() ([]byte, error) { return encoded(p) }

func (p Part) encode(o *object) {
	o.must("type", p.Type)
	switch p.Type {
	case TypeText:
		o.must("text", p.Text)
	case TypeData:
		o.field("data", p.Data)
	case TypeImage:
		o.text("url", p.URL)
		if len(p.Bytes) > 0 {
			o.field("bytes", p.Bytes)
		}
		o.text("mime", p.MIME)
	}
	o.close(p.Extra)
}

// UnmarshalJSON reads the form that MarshalJSON writes.
func (p *Part) UnmarshalJSON(data []byte) error {
	f, err := fieldsOf(data)
	if err != nil {
		return err
	}
	var n Part
	f.must("type", &n.Type)
	switch n.Type {
	case TypeText:
		f.take("text", &n.Text)
	case TypeData:
		n.Data = f.raw("data")
	case TypeImage:
		f.take("url", &n.URL)
		f.take("bytes", &n.Bytes)
		f.take("mime", &n.MIME)
	}
	if n.Extra, err = f.rest(); err == nil {
		*p = n
	}
	return err
}
