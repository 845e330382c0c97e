package workflow

import "maps"

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

// sections are all objects of the language, as they are decoded. A test asks the
// decoder whether it knows the same keys.
func (o Options) sections() []section {
	return []section{
		rootSection, typeSection, memberSection, o.fieldSection(), limitsSection,
		sharedSection, settingSection, envSection, interruptSection, defaultsSection, edgeSection,
		o.nodeSection(), forEachSection, retrySection, waySection, elseSection,
		onFailureSection, cacheSection, askSection, formSection, expiresSection,
		testSection, mockSection, mockErrorSection, expectSection,
	}
}

var rootSection = section{"", "", []key{
	{"version", "the version of the language", schema{"const": 1}},
	{"name", "the name of the graph; the file's name where it is missing", textValue},
	{"description", "what the workflow is for", textValue},
	{"types", "object types by name", mapTo(identifier.String(), refTo("type"))},
	{"state", "the fields of the state: a type, or the long form", mapTo(identifier.String(), schema{"oneOf": []schema{textValue, refTo("field")}})},
	{"input", "the fields that a run may be given; all where it is missing, [] for none", nameList},
	{"output", "the fields that a run gives; all where it is missing", nameList},
	{"config", "what a run is set to beside its input, by name: a type, or the long form; expressions see config", mapTo(identifier.String(), schema{"oneOf": []schema{textValue, refTo("setting")}})},
	{"env", "the variables of the environment that expressions read, by name: a type, or the long form", mapTo(identifier.String(), schema{"oneOf": []schema{textValue, refTo("env")}})},
	{"secrets", "the secrets by name, each with the variable of the environment that it comes from: ${env:NAME}", mapTo(identifier.String(), schema{"type": "string", "pattern": secretFrom.String(), "$comment": "text"})},
	{"limits", "the bounds of a run", refTo("limits")},
	{"defaults", "what holds for nodes that say nothing themselves", refTo("defaults")},
	{"interrupt", "where a run pauses", refTo("interrupt")},
	{"start", "where a run starts: a node, or several at once; the first node where it is missing", someNames},
	{"nodes", "the nodes by name", withMost(mapTo(nodeName.String(), refTo("node")))},
	{"edges", "where the nodes lead that have no next", schema{"type": "array", "items": refTo("edge")}},
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
		{"reducer", "how a write meets what is there; replace where it is missing", o.reducerSchema()},
		{"default", "the value of a field that was not written", anyValue},
		{"scope", "whether the field belongs to the thread or starts anew with each turn", oneOfWords("thread", "turn")},
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
	{"steps", "at most so many steps a turn", count},
	{"run_timeout", "the longest a turn may take", duration},
	{"concurrency", "at most so many nodes at once", count},
	{"fanout", "at most so many tasks of a step", count},
	{"state_bytes", "the largest the state may be", size},
	{"shared", "bounds that nodes share by name", mapTo(nodeName.String(), refTo("shared"))},
}, nil}

func (o Options) nodeSection() section {
	keys := []key{
		{"description", "what the node does", textValue},
		{"tags", "words by which programs find the node", nameList},
		{"set", "writes fields: values by name, in which ${{ }} may stand", freeKeys},
		{"uses", "runs a Go function of the program: go:NAME", o.usesSchema()},
		{"with", "the parameters of uses", anyValue},
		{"workflow", "runs another file as a node", textValue},
		{"input", "what the other workflow gets: values by name", freeKeys},
		{"ask", "pauses the run and asks a person for a value or a form", refTo("ask")},
	}
	keys = append(keys, o.kindKeys()...)
	return section{"node", "one node: exactly one key says what it does", append(keys,
		key{"if", "the node does nothing, and goes on, unless this holds", condValue},
		key{"for_each", "runs the node once for each item of a list", refTo("for_each")},
		key{"join", "waits for these nodes, all of which lead here", someNames},
		key{"output", "writes fields from the result: values by name", freeKeys},
		policyKey("timeout"), policyKey("idle_timeout"), policyKey("retry"), policyKey("limit"), policyKey("on_error"),
		key{"cache", "keeps the result for other runs", refTo("cache")},
		key{"idempotency_key", "what the outside world knows the act by; the result is kept as soon as it is there", anyValue},
		key{"defer", "waits until nothing else is due", flagValue},
		key{"requires", "the fields that other nodes provide; edges follow from it", nameList},
		key{"provides", "the fields that the node writes for others; edges follow from it", nameList},
		key{"next", "where to go on: a node, several at once, END, or conditions of which the first that holds counts", schema{"oneOf": []schema{
			textValue, {"type": "array", "items": textValue, "minItems": 1},
			{"type": "array", "minItems": 1, "items": schema{"oneOf": []schema{refTo("way"), refTo("else")}}},
		}}},
	), nil}
}

var forEachSection = section{"for_each", "a loop whose items run at once", []key{
	{"in", "the list: an expression, or a list", schema{"oneOf": []schema{textValue, {"type": "array"}}}},
	{"as", "the name of the item in expressions; item where it is missing", textValue},
	{"max", "at most so many items", count},
	{"max_parallel", "at most so many items at once", count},
	{"on_item_error", "whether an item that fails fails the node; fail where it is missing", oneOfWords("fail", "skip")},
}, []string{"in"}}

var retrySection = section{"retry", "attempts after a failure", []key{
	{"max", "all attempts together, so 2 is one retry; 3 where it is missing", count},
	{"initial", "the first wait; 0s makes all attempts follow at once", duration},
	{"max_delay", "the longest wait", duration},
	{"backoff", "whether the wait doubles", oneOfWords("exponential", "constant")},
	{"jitter", "whether a part of the wait is random", flagValue},
	{"on", "the failures that are worth it: error, timeout, or codes such as http:503 and http:5xx", nameList},
}, nil}

var waySection = section{"way", "a way on under a condition", []key{
	{"if", "the way is taken when this holds", condValue},
	{"to", "a node, several at once, or END", someNames},
}, []string{"if", "to"}}

var elseSection = section{"else", "the way on when no condition holds", []key{
	{"else", "a node, several at once, or END", someNames},
}, []string{"else"}}
