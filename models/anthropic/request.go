package anthropic

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/weftrun/weft/capabilities/model"
	"github.com/weftrun/weft/internal/modelhttp"
	"github.com/weftrun/weft/state/message"
)

// request returns the body of a request, and the fields to set in it.
func (m *Model) request(r model.Request) (p sdk.MessageNewParams, opts []option.RequestOption, err error) {
	if r.Model == "" {
		return p, nil, &model.Error{Kind: model.Invalid, Message: "the request names no model, and neither does the configuration"}
	}
	invalid := func(err error) error {
		return &model.Error{Kind: model.Invalid, Model: r.Model, Message: err.Error()}
	}
	p.Model = sdk.Model(r.Model)
	p.MaxTokens = int64(r.MaxTokens)
	if r.MaxTokens == 0 {
		p.MaxTokens = int64(m.cfg.MaxTokens)
	}
	var c conversion
	for i, said := range r.Messages {
		if err := c.add(said); err != nil {
			return p, nil, invalid(fmt.Errorf("message %d: %w", i, err))
		}
	}
	p.Messages, p.System = c.messages, c.system
	for _, t := range r.Tools {
		tool, err := toolOf(t)
		if err != nil {
			return p, nil, invalid(err)
		}
		p.Tools = append(p.Tools, sdk.ToolUnionParam{OfTool: &tool})
	}
	p.ToolChoice = choice(r.Choice, len(r.Tools) > 0)
	if r.Output != nil {
		if schema, ok := enforceable(r.Output.JSON); ok && m.cfg.Form == FormSchema {
			p.OutputConfig.Format.Schema = schema
		} else {
			p.System = append(p.System, sdk.TextBlockParam{Text: modelhttp.SchemaPrompt(r.Output.JSON)})
		}
	}
	if r.Temperature != nil {
		p.Temperature = sdk.Float(*r.Temperature)
	}
	p.StopSequences = r.StopAt
	for name, v := range r.Options {
		opts = append(opts, option.WithJSONSet(escape.Replace(name), v))
	}
	return p, opts, nil
}

// escape escapes one name for a path.
var escape = strings.NewReplacer(`\`, `\\`, ".", `\.`, "*", `\*`, "?", `\?`, "|", `\|`, "#", `\#`, "@", `\@`, ":", `\:`)

func toolOf(t model.Tool) (p sdk.ToolParam, err error) {
	p.Name = t.Name
	if t.Description != "" {
		p.Description = sdk.String(t.Description)
	}
	p.InputSchema.Properties = map[string]any{}
	if len(t.Schema) > 0 {
		var fields map[string]any
		if err := json.Unmarshal(t.Schema, &fields); err != nil {
			return p, fmt.Errorf("tool %q: its schema: %w", t.Name, err)
		}
		delete(fields, "type") // the library writes object
		if properties, ok := fields["properties"]; ok {
			p.InputSchema.Properties = properties
			delete(fields, "properties")
		}
		p.InputSchema.ExtraFields = fields
	}
	return p, nil
}

func choice(c model.Choice, tools bool) (p sdk.ToolChoiceUnionParam) {
	switch name, ok := c.Tool(); {
	case ok:
		p.OfTool = &sdk.ToolChoiceToolParam{Name: name}
	case c == model.Required:
		p.OfAny = &sdk.ToolChoiceAnyParam{}
	case c == model.None && tools: // without tools the API refuses a choice
		p.OfNone = &sdk.ToolChoiceNoneParam{}
	}
	return p
}

// conversion turns messages into those of the wire.
type conversion struct {
	system   []sdk.TextBlockParam
	messages []sdk.MessageParam
}

func (c *conversion) add(m message.Message) error {
	switch m.Role {
	case message.RoleSystem:
		if text := texts(m.Content); strings.TrimSpace(text) != "" {
			c.system = append(c.system, sdk.TextBlockParam{Text: text})
		}
	case message.RoleUser:
		blocks, err := content(m.Content)
		if err != nil {
			return err
		}
		c.put(sdk.MessageParamRoleUser, blocks)
	case message.RoleAssistant:
		c.put(sdk.MessageParamRoleAssistant, said(m))
	case message.RoleTool:
		for i, r := range m.Results {
			block, err := resultOf(r)
			if err != nil {
				return fmt.Errorf("result %d: %w", i, err)
			}
			c.put(sdk.MessageParamRoleUser, []sdk.ContentBlockParamUnion{block})
		}
	default:
		return fmt.Errorf("no role %q", m.Role)
	}
	return nil
}

// put adds blocks. Blocks of one speaker are one message, because the results of all calls must be
// in one.
func (c *conversion) put(role sdk.MessageParamRole, blocks []sdk.ContentBlockParamUnion) {
	if len(blocks) == 0 {
		return
	}
	if n := len(c.messages); n > 0 && c.messages[n-1].Role == role {
		c.messages[n-1].Content = append(c.messages[n-1].Content, blocks...)
		return
	}
	c.messages = append(c.messages, sdk.MessageParam{Role: role, Content: blocks})
}

// content returns the parts of a message of a user. The API refuses blank texts.
func content(parts []message.Part) (blocks []sdk.ContentBlockParamUnion, err error) {
	for i, p := range parts {
		switch p.Type {
		case message.TypeText, message.TypeData:
			if text := texts([]message.Part{p}); strings.TrimSpace(text) != "" {
				blocks = append(blocks, sdk.NewTextBlock(text))
			}
		case message.TypeImage:
			blocks = append(blocks, sdk.ContentBlockParamUnion{OfImage: image(p)})
		default:
			return nil, fmt.Errorf("part %d: this protocol has no parts of type %q", i, p.Type)
		}
	}
	return blocks, nil
}

func image(p message.Part) *sdk.ImageBlockParam {
	if len(p.Bytes) > 0 {
		return sdk.NewImageBlockBase64(p.MIME, base64.StdEncoding.EncodeToString(p.Bytes)).OfImage
	}
	return sdk.NewImageBlock(sdk.URLImageSourceParam{URL: p.URL}).OfImage
}

// said returns the message of an assistant. Parts of other providers are left out.
func said(m message.Message) (blocks []sdk.ContentBlockParamUnion) {
	for _, p := range m.Content {
		switch p.Type {
		case PartThinking:
			blocks = append(blocks, sdk.NewThinkingBlock(field(p, "signature"), field(p, "thinking")))
		case PartRedacted:
			blocks = append(blocks, sdk.NewRedactedThinkingBlock(field(p, "data")))
		default:
			if text := texts([]message.Part{p}); strings.TrimSpace(text) != "" {
				blocks = append(blocks, sdk.NewTextBlock(text))
			}
		}
	}
	for _, call := range m.Calls {
		args := call.Arguments
		var object map[string]json.RawMessage
		if json.Unmarshal(args, &object) != nil || object == nil {
			args = json.RawMessage("{}") // the API needs an object; the result of the call states the mistake
		}
		blocks = append(blocks, sdk.NewToolUseBlock(wireID(call.ID), args, call.Name))
	}
	return blocks
}

// field returns a field of a part.
func field(p message.Part, name string) (text string) {
	_ = json.Unmarshal(p.Extra[name], &text)
	return text
}

func resultOf(r message.Result) (b sdk.ContentBlockParamUnion, err error) {
	p := &sdk.ToolResultBlockParam{ToolUseID: wireID(r.CallID)}
	if r.IsError {
		p.IsError = sdk.Bool(true)
	}
	blocks, err := content(r.Content)
	for _, block := range blocks {
		p.Content = append(p.Content, sdk.ToolResultBlockParamContentUnion{OfText: block.OfText, OfImage: block.OfImage})
	}
	return sdk.ContentBlockParamUnion{OfToolResult: p}, err
}

// texts returns parts as text. An image is named.
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

// word matches an ID of a call that the API accepts.
var word = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// wireID returns the ID of a call as the wire has it.
func wireID(id string) string {
	if word.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:20])
}
