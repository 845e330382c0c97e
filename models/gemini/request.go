package gemini

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"mime"
	"path"
	"strings"

	"google.golang.org/genai"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/internal/modelhttp"
	"github.com/weftrun/weft/state/message"
)

// request returns the contents and the configuration of a request.
func (m *Model) request(r model.Request) ([]*genai.Content, *genai.GenerateContentConfig, error) {
	invalid := func(err error) error {
		return &model.Error{Kind: model.Invalid, Model: r.Model, Message: err.Error()}
	}
	if r.Model == "" {
		return nil, nil, invalid(fmt.Errorf("the request names no model, and neither does the configuration"))
	}
	c := conversion{names: map[string]string{}}
	for i, said := range r.Messages {
		if err := c.add(said); err != nil {
			return nil, nil, invalid(fmt.Errorf("message %d: %w", i, err))
		}
	}
	g := &genai.GenerateContentConfig{StopSequences: r.StopAt}
	if r.Temperature != nil {
		g.Temperature = genai.Ptr(float32(*r.Temperature))
	}
	g.MaxOutputTokens = int32(min(r.MaxTokens, math.MaxInt32))
	if err := tools(g, r); err != nil {
		return nil, nil, invalid(err)
	}
	if r.Output != nil {
		c.output(g, m.cfg.Form, r.Output.JSON)
	}
	if len(c.system) > 0 {
		g.SystemInstruction = &genai.Content{Parts: c.system}
	}
	if len(r.Options) > 0 {
		extra := map[string]any{}
		for name, raw := range r.Options {
			var v any
			if err := json.Unmarshal(raw, &v); err != nil {
				return nil, nil, invalid(fmt.Errorf("option %q: %w", name, err))
			}
			extra[name] = v
		}
		g.HTTPOptions = &genai.HTTPOptions{ExtraBody: extra}
	}
	return c.contents, g, nil
}

// tools declares the tools of a request.
func tools(g *genai.GenerateContentConfig, r model.Request) error {
	var all []*genai.FunctionDeclaration
	for _, t := range r.Tools {
		f := &genai.FunctionDeclaration{Name: t.Name, Description: t.Description}
		if len(t.Schema) > 0 {
			var schema map[string]any
			if err := json.Unmarshal(t.Schema, &schema); err != nil {
				return fmt.Errorf("tool %q: its schema: %w", t.Name, err)
			}
			f.ParametersJsonSchema = schema
		}
		all = append(all, f)
	}
	if len(all) == 0 {
		return nil
	}
	g.Tools = []*genai.Tool{{FunctionDeclarations: all}}
	var calling genai.FunctionCallingConfig
	switch name, ok := r.Choice.Tool(); {
	case ok:
		calling.Mode, calling.AllowedFunctionNames = genai.FunctionCallingConfigModeAny, []string{name}
	case r.Choice == model.Required:
		calling.Mode = genai.FunctionCallingConfigModeAny
	case r.Choice == model.None:
		calling.Mode = genai.FunctionCallingConfigModeNone
	default:
		return nil
	}
	g.ToolConfig = &genai.ToolConfig{FunctionCallingConfig: &calling}
	return nil
}

// conversion turns messages into those of the wire.
type conversion struct {
	system   []*genai.Part
	contents []*genai.Content
	names    map[string]string // of tools, by the ID of a call
}

// output asks for an answer that matches a schema.
func (c *conversion) output(g *genai.GenerateContentConfig, form Form, schema json.RawMessage) {
	if form != FormPrompt {
		g.ResponseMIMEType = "application/json"
	}
	if form == FormSchema {
		g.ResponseJsonSchema = schema
		return
	}
	c.system = append(c.system, &genai.Part{Text: modelhttp.SchemaPrompt(schema)})
}

func (c *conversion) add(m message.Message) error {
	switch m.Role {
	case message.RoleSystem:
		for _, p := range m.Content {
			if text := textOf(p); text != "" {
				c.system = append(c.system, &genai.Part{Text: text})
			}
		}
	case message.RoleUser:
		parts, err := content(m.Content)
		if err != nil {
			return err
		}
		c.put(genai.RoleUser, parts)
	case message.RoleAssistant:
		c.put(genai.RoleModel, c.said(m))
	case message.RoleTool:
		for i, r := range m.Results {
			part, err := c.result(r)
			if err != nil {
				return fmt.Errorf("result %d: %w", i, err)
			}
			c.put(genai.RoleUser, []*genai.Part{part})
		}
	default:
		return fmt.Errorf("no role %q", m.Role)
	}
	return nil
}

// put adds parts. Parts of one speaker are one content, because the results of all calls must be in
// one.
func (c *conversion) put(role string, parts []*genai.Part) {
	if len(parts) == 0 {
		return
	}
	if n := len(c.contents); n > 0 && c.contents[n-1].Role == role {
		c.contents[n-1].Parts = append(c.contents[n-1].Parts, parts...)
		return
	}
	c.contents = append(c.contents, &genai.Content{Role: role, Parts: parts})
}

// textOf returns a part as text, or "".
func textOf(p message.Part) string {
	switch p.Type {
	case message.TypeText:
		return p.Text
	case message.TypeData:
		return string(p.Data)
	}
	return ""
}

// content returns the parts of a message of a user.
func content(parts []message.Part) (all []*genai.Part, err error) {
	for i, p := range parts {
		switch p.Type {
		case message.TypeText, message.TypeData:
			if text := textOf(p); text != "" {
				all = append(all, &genai.Part{Text: text})
			}
		case message.TypeImage:
			if len(p.Bytes) > 0 {
				all = append(all, &genai.Part{InlineData: &genai.Blob{Data: p.Bytes, MIMEType: p.MIME}})
			} else {
				all = append(all, &genai.Part{FileData: &genai.FileData{FileURI: p.URL, MIMEType: mediaOf(p)}})
			}
		default:
			return nil, fmt.Errorf("part %d: this protocol has no parts of type %q", i, p.Type)
		}
	}
	return all, nil
}

// mediaOf returns the media type of an image, which the API needs.
func mediaOf(p message.Part) string {
	address, _, _ := strings.Cut(p.URL, "?")
	return cmp.Or(p.MIME, mime.TypeByExtension(path.Ext(address)), "image/jpeg")
}

// said returns the message of an assistant. Parts of other providers are left out.
func (c *conversion) said(m message.Message) (all []*genai.Part) {
	for _, p := range m.Content {
		if text := textOf(p); text != "" {
			all = append(all, &genai.Part{Text: text})
		}
		if p.Type == PartSignature {
			all = append(all, &genai.Part{ThoughtSignature: signatureIn(p.Extra, "signature")})
		}
	}
	for _, call := range m.Calls {
		c.names[call.ID] = call.Name
		var args map[string]any
		if json.Unmarshal(call.Arguments, &args) != nil {
			args = nil // the API needs an object; the result of the call states the mistake
		}
		all = append(all, &genai.Part{
			FunctionCall:     &genai.FunctionCall{ID: call.ID, Name: call.Name, Args: args},
			ThoughtSignature: signatureIn(call.Extra, callSignature),
		})
	}
	return all
}

func signatureIn(extra map[string]json.RawMessage, name string) (signature []byte) {
	_ = json.Unmarshal(extra[name], &signature)
	return signature
}

// result returns the result of a call. The API needs the name of its tool.
func (c *conversion) result(r message.Result) (*genai.Part, error) {
	name, ok := c.names[r.CallID]
	if !ok {
		return nil, fmt.Errorf("no message before it has the call %q", r.CallID)
	}
	f := &genai.FunctionResponse{ID: r.CallID, Name: name}
	key := "output"
	if r.IsError {
		key = "error"
	}
	var texts []string
	for i, p := range r.Content {
		switch {
		case p.Type == message.TypeImage && len(p.Bytes) > 0:
			f.Parts = append(f.Parts, &genai.FunctionResponsePart{InlineData: &genai.FunctionResponseBlob{Data: p.Bytes, MIMEType: p.MIME}})
		case p.Type == message.TypeImage:
			texts = append(texts, "(an image) "+p.URL)
		case p.Type == message.TypeText, p.Type == message.TypeData:
			texts = append(texts, textOf(p))
		default:
			return nil, fmt.Errorf("part %d: this protocol has no parts of type %q", i, p.Type)
		}
	}
	f.Response = map[string]any{key: strings.Join(texts, "\n")}
	return &genai.Part{FunctionResponse: f}, nil
}
