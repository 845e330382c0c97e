package openai

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/internal/modelhttp"
	"github.com/weftrun/weft/state/message"
)

// request returns the body of a request, and the fields to set in it.
func (m *Model) request(r model.Request) (p sdk.ChatCompletionNewParams, opts []option.RequestOption, err error) {
	if r.Model == "" {
		return p, nil, &model.Error{Kind: model.Invalid, Message: "the request names no model, and neither does the configuration"}
	}
	p.Model = r.Model
	c := conversion{model: r.Model}
	if r.Output != nil && m.cfg.Form != FormSchema {
		c.messages = append(c.messages, sdk.SystemMessage(modelhttp.SchemaPrompt(r.Output.JSON)))
	}
	for i, said := range r.Messages {
		if err := c.add(said); err != nil {
			return p, nil, &model.Error{Kind: model.Invalid, Model: r.Model, Message: fmt.Sprintf("message %d: %v", i, err)}
		}
	}
	p.Messages = c.messages
	for _, t := range r.Tools {
		f, err := function(t)
		if err != nil {
			return p, nil, &model.Error{Kind: model.Invalid, Model: r.Model, Message: err.Error()}
		}
		p.Tools = append(p.Tools, sdk.ChatCompletionFunctionTool(f))
	}
	p.ToolChoice = choice(r.Choice)
	if r.Output != nil {
		p.ResponseFormat = m.format(*r.Output)
	}
	if r.Temperature != nil {
		p.Temperature = sdk.Float(*r.Temperature)
	}
	switch {
	case r.MaxTokens > 0 && m.own:
		p.MaxCompletionTokens = sdk.Int(int64(r.MaxTokens))
	case r.MaxTokens > 0:
		p.MaxTokens = sdk.Int(int64(r.MaxTokens)) // the name that all other servers know
	}
	p.Stop.OfStringArray = r.StopAt
	p.StreamOptions.IncludeUsage = sdk.Bool(true)
	opts = append(opts, option.WithJSONSet("stream", true))
	for name, v := range r.Options {
		opts = append(opts, option.WithJSONSet(escape.Replace(name), v))
	}
	return p, opts, nil
}

// escape escapes one name for a path.
var escape = strings.NewReplacer(`\`, `\\`, ".", `\.`, "*", `\*`, "?", `\?`, "|", `\|`, "#", `\#`, "@", `\@`, ":", `\:`)

func function(t model.Tool) (f shared.FunctionDefinitionParam, err error) {
	f.Name = t.Name
	if t.Description != "" {
		f.Description = sdk.String(t.Description)
	}
	f.Parameters = shared.FunctionParameters{"type": "object", "properties": map[string]any{}}
	if len(t.Schema) > 0 {
		f.Parameters = nil
		if err := json.Unmarshal(t.Schema, &f.Parameters); err != nil {
			return f, fmt.Errorf("tool %q: its schema: %w", t.Name, err)
		}
	}
	return f, nil
}

func choice(c model.Choice) (o sdk.ChatCompletionToolChoiceOptionUnionParam) {
	if name, ok := c.Tool(); ok {
		return sdk.ToolChoiceOptionFunctionToolChoice(sdk.ChatCompletionNamedToolChoiceFunctionParam{Name: name})
	}
	if c != model.Auto {
		o.OfAuto = sdk.String(string(c))
	}
	return o
}

func (m *Model) format(s model.Schema) (f sdk.ChatCompletionNewParamsResponseFormatUnion) {
	switch m.cfg.Form {
	case FormObject:
		f.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
	case FormSchema:
		name := s.Name
		if !word.MatchString(name) {
			name = "answer"
		}
		p := shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: name, Schema: s.JSON}
		if s.Description != "" {
			p.Description = sdk.String(s.Description)
		}
		if strict(s.JSON) {
			p.Strict = sdk.Bool(true)
		}
		f.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: p}
	}
	return f
}

// word matches a name that OpenAI accepts.
var word = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// conversion turns messages into those of the wire.
type conversion struct {
	model    string
	messages []sdk.ChatCompletionMessageParamUnion
}

func (c *conversion) add(m message.Message) error {
	switch m.Role {
	case message.RoleSystem:
		c.put(sdk.SystemMessage(texts(m.Content)))
	case message.RoleUser:
		return c.user(m)
	case message.RoleAssistant:
		c.assistant(m)
	case message.RoleTool:
		for _, r := range m.Results {
			c.put(sdk.ToolMessage(texts(r.Content), wireID(r.CallID)))
		}
	default:
		return fmt.Errorf("no role %q", m.Role)
	}
	return nil
}

func (c *conversion) put(m sdk.ChatCompletionMessageParamUnion) { c.messages = append(c.messages, m) }

func (c *conversion) user(m message.Message) error {
	var p sdk.ChatCompletionUserMessageParam
	if word.MatchString(m.Name) {
		p.Name = sdk.String(m.Name)
	}
	if len(m.Content) == 1 && m.Content[0].Type == message.TypeText {
		p.Content.OfString = sdk.String(m.Content[0].Text)
		c.put(sdk.ChatCompletionMessageParamUnion{OfUser: &p})
		return nil
	}
	for i, part := range m.Content {
		switch part.Type {
		case message.TypeText:
			p.Content.OfArrayOfContentParts = append(p.Content.OfArrayOfContentParts, sdk.TextContentPart(part.Text))
		case message.TypeData:
			p.Content.OfArrayOfContentParts = append(p.Content.OfArrayOfContentParts, sdk.TextContentPart(string(part.Data)))
		case message.TypeImage:
			u := part.URL
			if len(part.Bytes) > 0 {
				u = "data:" + part.MIME + ";base64," + base64.StdEncoding.EncodeToString(part.Bytes)
			}
			p.Content.OfArrayOfContentParts = append(p.Content.OfArrayOfContentParts,
				sdk.ImageContentPart(sdk.ChatCompletionContentPartImageImageURLParam{URL: u}))
		default:
			return fmt.Errorf("part %d: this protocol has no parts of type %q", i, part.Type)
		}
	}
	c.put(sdk.ChatCompletionMessageParamUnion{OfUser: &p})
	return nil
}

func (c *conversion) assistant(m message.Message) {
	var p sdk.ChatCompletionAssistantMessageParam
	if text := texts(m.Content); text != "" || len(m.Calls) == 0 {
		p.Content.OfString = sdk.String(text)
	}
	if word.MatchString(m.Name) {
		p.Name = sdk.String(m.Name)
	}
	for _, call := range m.Calls {
		args := string(call.Arguments)
		if !json.Valid(call.Arguments) {
			args = "{}" // some servers parse them; the result of the call states the mistake
		}
		p.ToolCalls = append(p.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
				ID: wireID(call.ID), Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{Name: call.Name, Arguments: args},
			},
		})
	}
	c.put(sdk.ChatCompletionMessageParamUnion{OfAssistant: &p})
}

// texts returns parts as text. An image is named. Reasoning of another provider is left out.
func texts(parts []message.Part) string {
	var all []string
	for _, p := range parts {
		switch p.Type {
		case message.TypeText:
			all = append(all, p.Text)
		case message.TypeData:
			all = append(all, string(p.Data))
		case message.TypeImage:
			all = append(all, strings.TrimSpace("(an image) "+p.URL))
		}
	}
	return strings.Join(all, "\n")
}

// wireID returns the id of a call as the wire has it: no longer than 40 characters.
func wireID(id string) string {
	if len(id) <= 40 {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:20])
}
