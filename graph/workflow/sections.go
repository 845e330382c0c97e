package workflow

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

const defsPath = "#/$defs/"

// The values that many sections of a file take.
var (
	textValue = schema{"type": "string"}
	anyValue  = schema{}
	flagValue = schema{"type": "boolean"}
	count     = schema{"type": "integer", "minimum": 1}
	duration  = schema{"type": "string", "pattern": `^[-+0-9.a-zµμ]+$`, "$comment": "a time such as 30s"}
	condValue = schema{"type": []string{"string", "boolean"}, "$comment": "an expression"}
	nameList  = schema{"type": "array", "items": textValue}
	someNames = schema{"oneOf": []schema{textValue, {"type": "array", "items": textValue, "minItems": 1}}}
	freeKeys  = schema{"type": "object", "additionalProperties": anyValue}
)

func refTo(name string) schema { return schema{"$ref": defsPath + name} }

func oneOfWords(words ...string) schema { return schema{"type": "string", "enum": words} }

// mapTo is a mapping with any names of a form to values that are text or a section.
func mapTo(pattern string, value schema) schema {
	return schema{"type": "object", "propertyNames": schema{"pattern": pattern}, "additionalProperties": value}
}

// sections has all objects of the language. A test checks that the decoder accepts the same keys.
func (o Options) sections() []section {
	return append([]section{
		o.rootSection(), typeSection, memberSection, o.fieldSection(), limitsSection,
		sharedSection, settingSection, envSection, interruptSection, defaultsSection, edgeSection,
		o.nodeSection(), forEachSection, retrySection, waySection, elseSection,
		onFailureSection, cacheSection, askSection, formSection, expiresSection, escalationSection,
		scheduleSection, testSection, mockSection, mockErrorSection, expectSection,
	}, o.entrySections()...)
}

// rootSection is the file itself, with the sections of the program.
func (o Options) rootSection() section {
	s := rootSection
	at := slices.IndexFunc(s.keys, func(k key) bool { return k.name == "limits" })
	s.keys = slices.Insert(slices.Clone(s.keys), at, o.sectionKeys()...)
	return s
}

// sectionKeys are the sections of the program as keys of a file.
func (o Options) sectionKeys() (all []key) {
	for _, name := range o.sectionNames() {
		all = append(all, key{name, o.Sections[name].About, mapTo(nodeName.String(), refTo(singular(name)))})
	}
	return all
}

// entrySections are the entries of the sections of the program.
func (o Options) entrySections() (all []section) {
	for _, name := range o.sectionNames() {
		s := o.Sections[name]
		params := goSchema(reflect.TypeOf(s.New()))
		of := section{name: singular(name), about: "an entry of " + name, required: requiredIn(params)}
		properties, _ := params["properties"].(schema)
		for _, p := range paramsOf(structOf(s.New())) {
			takes := constantOnly(properties[p.name].(schema))
			if words := s.Choices[p.name]; len(words) > 0 {
				takes = oneOfWords(slices.Concat(words, slices.Sorted(maps.Keys(s.Elsewhere[p.name])))...)
			}
			of.keys = append(of.keys, key{p.name, s.Params[p.name], takes})
		}
		all = append(all, of)
	}
	return all
}

// constantOnly returns a schema without the expressions that orExpression adds.
func constantOnly(s schema) schema {
	if all, ok := s["anyOf"].([]schema); ok {
		return constantOnly(all[0])
	}
	s = maps.Clone(s)
	if properties, ok := s["properties"].(schema); ok {
		own := schema{}
		for name, p := range properties {
			own[name] = constantOnly(p.(schema))
		}
		s["properties"] = own
	}
	for _, inner := range []string{"items", "additionalProperties"} {
		if of, ok := s[inner].(schema); ok {
			s[inner] = constantOnly(of)
		}
	}
	return s
}

// singular returns the name of an entry of a section.
func singular(section string) string { return strings.TrimSuffix(section, "s") }

var rootSection = section{"", "", []key{
	{"version", "the version of the language", schema{"const": 1}},
	{"name", "the name of the graph; by default the name of the file", textValue},
	{"description", "what the workflow is for", textValue},
	{"types", "object types by name", mapTo(identifier.String(), refTo("type"))},
	{"state", "the fields of the state: a type, or the long form", mapTo(identifier.String(), schema{"oneOf": []schema{textValue, refTo("field")}})},
	{"input", "the fields that the input of a run may have; by default all, [] for none", nameList},
	{"output", "the fields that a run returns; by default all", nameList},
	{"config", "the settings of a run by name: a type, or the long form; expressions can read config", mapTo(identifier.String(), schema{"oneOf": []schema{textValue, refTo("setting")}})},
	{"env", "the environment variables that expressions can read, by name: a type, or the long form", mapTo(identifier.String(), schema{"oneOf": []schema{textValue, refTo("env")}})},
	{"secrets", "the secrets by name, each with its environment variable: ${env:NAME}", mapTo(identifier.String(), schema{"type": "string", "pattern": secretFrom.String(), "$comment": "text"})},
	{"limits", "the bounds of a run", refTo("limits")},
	{"run_retry", "how often, and when, a failed run is tried again by `weft wake`, a server or a worker", refTo("retry")},
	{"schedules", "when `weft wake`, a server or a worker begins runs, by name", mapTo(nodeName.String(), refTo("schedule"))},
	{"defaults", "the defaults of nodes", refTo("defaults")},
	{"interrupt", "the nodes before or after which a run pauses", refTo("interrupt")},
	{"start", "the first node of a run, or several concurrent ones; by default the first node of the file", someNames},
	{"nodes", "the nodes by name", withMost(mapTo(nodeName.String(), refTo("node")))},
	{"edges", "the edges of nodes without next", schema{"type": "array", "items": refTo("edge")}},
	{"tests", "the tests of the file", schema{"type": "array", "items": refTo("test")}},
}, []string{"version", "nodes"}}

func withMost(s schema) schema {
	s = maps.Clone(s)
	s["minProperties"], s["maxProperties"] = 1, maxNodes
	return s
}

// typeSection is an object type: its members are its keys.
var typeSection = section{name: "type", about: "an object type: its members by name"}

var memberSection = section{"member", "a member of an object type, in the long form", []key{
	{"type", "a type such as list<string>", textValue},
	{"default", "the value where the member is missing", anyValue},
	{"optional", "whether the member may be missing", flagValue},
	{"description", "what the member holds", textValue},
}, []string{"type"}}

func (o *Options) fieldSection() section {
	return section{"field", "a field of the state, in the long form", []key{
		{"type", "bool, int, number, string, any, list<T>, map<T>, object{a: T, b?: T}, messages, a name under types, or go:NAME of the program", textValue},
		{"reducer", "how a write is combined with the value of the field; by default replace", o.reducerSchema()},
		{"default", "the value of the field before the first write", anyValue},
		{"scope", "whether the field lasts for the thread, or is reset at each turn", oneOfWords("thread", "turn")},
		{"required", "whether the input of a run must have the field", flagValue},
		{"description", "what the field holds", textValue},
	}, []string{"type"}}
}

// reducerSchema is the schema of the name of a reducer.
func (o *Options) reducerSchema() schema {
	if len(o.Reducers) > 0 {
		return oneOfWords(o.reducerNames()...)
	}
	return schema{"anyOf": []schema{oneOfWords(o.reducerNames()...), {"type": "string", "pattern": "^" + goPrefix, "$comment": "`go:NAME`"}}}
}

var limitsSection = section{"limits", "the bounds of a run", []key{
	{"steps", "the most steps of a turn", count},
	{"run_timeout", "the longest duration of a turn", duration},
	{"concurrency", "the most nodes that run at once", count},
	{"fanout", "the most tasks of a step", count},
	{"state_bytes", "the largest size of the state", size},
	{"shared", "bounds that nodes share by name", mapTo(nodeName.String(), refTo("shared"))},
}, nil}

func (o Options) nodeSection() section {
	keys := []key{
		{"description", "what the node does", textValue},
		{"tags", "words that programs can use to find the node", nameList},
		{"set", "writes fields: values by name, which may contain ${{ }}", freeKeys},
		{"uses", "runs a Go function of the program: go:NAME", o.usesSchema()},
		{"with", "the parameters of uses", anyValue},
		{"workflow", "runs another file as a node", textValue},
		{"input", "the input of the other workflow: values by name", freeKeys},
		{"child", "makes the other workflow a child workflow of its own on an engine such as Temporal", flagValue},
		{"ask", "pauses the run and asks a person for a value or a form", refTo("ask")},
	}
	keys = append(keys, o.kindKeys()...)
	return section{"node", "one node, with exactly one kind", append(keys,
		key{"if", "the node is skipped unless this is true", condValue},
		key{"for_each", "runs the node once for each item of a list", refTo("for_each")},
		key{"join", "waits for all of these nodes, which must lead here", someNames},
		key{"output", "writes fields from the result: values by name", freeKeys},
		policyKey("timeout"), policyKey("idle_timeout"), policyKey("retry"), policyKey("limit"), policyKey("on_error"),
		key{"cache", "stores the result for other runs", refTo("cache")},
		key{"idempotency_key", "the idempotency key sent to external systems; the result is stored immediately", anyValue},
		key{"defer", "waits until no other node can run", flagValue},
		key{"requires", "the fields that other nodes provide; edges follow from it", nameList},
		key{"provides", "the fields that the node writes for others; edges follow from it", nameList},
		key{"next", "the next node, several concurrent ones, END, or conditions, of which the first true one counts", schema{"oneOf": []schema{
			textValue, {"type": "array", "items": textValue, "minItems": 1},
			{"type": "array", "minItems": 1, "items": schema{"oneOf": []schema{refTo("way"), refTo("else")}}},
		}}},
	), nil}
}

var forEachSection = section{"for_each", "a loop whose items run concurrently", []key{
	{"in", "the list: an expression, or a list", schema{"oneOf": []schema{textValue, {"type": "array"}}}},
	{"as", "the name of the item in expressions; by default item", textValue},
	{"max", "the most items", count},
	{"max_parallel", "the most items that run at once", count},
	{"on_item_error", "whether a failed item fails the node or is omitted; by default fail", oneOfWords("fail", "skip")},
}, []string{"in"}}

var retrySection = section{"retry", "attempts after a failure", []key{
	{"max", "the number of attempts, so 2 is one retry; by default 3", count},
	{"initial", "the first wait; with 0s there are no waits", duration},
	{"max_delay", "the longest wait", duration},
	{"backoff", "whether the wait doubles each time or is constant", oneOfWords("exponential", "constant")},
	{"jitter", "whether part of the wait is random", flagValue},
	{"on", "the failures to retry: error, timeout, or codes such as http:503 and http:5xx", nameList},
}, nil}

var waySection = section{"way", "a conditional successor", []key{
	{"if", "the condition", condValue},
	{"to", "a node, several concurrent ones, or END", someNames},
}, []string{"if", "to"}}

var elseSection = section{"else", "the successor when no condition is true", []key{
	{"else", "a node, several concurrent ones, or END", someNames},
}, []string{"else"}}
