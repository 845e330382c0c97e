package workflow

import "slices"

var size = schema{"type": "string", "pattern": sizeText.String(), "$comment": "a size such as 4MiB"}

var sharedSection = section{"shared", "a limit that nodes share by its name", []key{
	{"concurrency", "the most attempts that run at once", count},
	{"rate", "the most starts per unit of time, such as 90/m", schema{"type": "string", "pattern": rateText.String(), "$comment": "a rate such as 10/s"}},
	{"burst", "the most starts at once after an idle period", count},
}, nil}

var settingSection = section{"setting", "a setting of a run, in the long form", []key{
	{"type", "a type such as list<string>", textValue},
	{"default", "the value if the run sets none", anyValue},
	{"description", "the purpose of the setting", textValue},
}, []string{"type"}}

var envSection = section{"env", "an environment variable, in the long form", []key{
	{"type", "the type of the value; by default string", oneOfWords("string", "int", "number", "bool")},
	{"from", "the name of the environment variable, if it differs", textValue},
	{"default", "the value if the variable is not set", schema{"type": []string{"string", "number", "boolean"}, "$comment": "a value"}},
	{"description", "the purpose of the variable", textValue},
}, nil}

var interruptSection = section{"interrupt", "the nodes before or after which a run pauses", []key{
	{"before", "pauses before these nodes; \"*\" means every node", someNames},
	{"after", "pauses after these nodes; \"*\" means every node", someNames},
}, nil}

// policySchemas are the keys that a node and defaults have.
var policySchemas = []key{
	{"timeout", "the longest duration of one attempt", duration},
	{"idle_timeout", "the longest time without progress of an attempt", duration},
	{"retry", "when a failed attempt is retried", refTo("retry")},
	{"limit", "the name of a shared limit", textValue},
	{"on_error", "what follows the last failed attempt: a node, several concurrent ones, or items, of which the first true one counts", schema{"oneOf": []schema{
		textValue, {"type": "array", "items": textValue, "minItems": 1},
		refTo("on_error"), {"type": "array", "items": refTo("on_error"), "minItems": 1},
	}}},
}

func policyKey(name string) key {
	return policySchemas[slices.IndexFunc(policySchemas, func(k key) bool { return k.name == name })]
}

var defaultsSection = section{"defaults", "the defaults of nodes", policySchemas, nil}

var edgeSection = section{"edge", "an edge between nodes", []key{
	{"from", "a node, several nodes, or START", someNames},
	{"to", "a node, several concurrent ones, or END", someNames},
	{"if", "the condition", condValue},
}, []string{"from", "to"}}

var onFailureSection = section{"on_error", "an item of on_error", []key{
	{"if", "the condition; expressions can read error", condValue},
	{"to", "a node, several concurrent ones, or END; by default the successors of the node", someNames},
	{"set", "writes fields: values by name", freeKeys},
	{"else", "a node, several concurrent ones, or END, if no condition is true", someNames},
}, nil}

var cacheSection = section{"cache", "how a result is cached", []key{
	{"key", "the values that the result depends on; by default the whole state", anyValue},
	{"ttl", "how long a result is valid", duration},
}, nil}

var askSection = section{"ask", "a question to a person", []key{
	{"title", "the question in one line", textValue},
	{"show", "the text to read before answering", textValue},
	{"data", "data for programs that show the question", anyValue},
	{"answer", "the type of the answer; by default string", textValue},
	{"form", "the fields of the answer by name: a type, or the long form", mapTo(identifier.String(), schema{"oneOf": []schema{textValue, refTo("form")}})},
	{"expires", "the time limit of the answer", schema{"oneOf": []schema{duration, refTo("expires")}}},
	{"key", "a text that distinguishes this question from others of the node", textValue},
	{"secret", "whether records of the decision omit the answer; a store without encryption does not record it", flagValue},
	{"to", "who should answer, such as an address or a group", textValue},
	{"remind", "how often to remind them, at least each 1s", duration},
	{"escalate", "who is asked when no answer has come for a time", schema{"type": "array", "items": refTo("escalation")}},
}, []string{"title"}}

var formSection = section{"form", "a field of a form, in the long form", []key{
	{"type", "a type such as list<string>", textValue},
	{"title", "the label of the field", textValue},
	{"description", "the purpose of the field", textValue},
	{"optional", "whether the field may be missing", flagValue},
	{"default", "the value if the field is missing", anyValue},
	{"enum", "the allowed values; of a list, those of its items", schema{"type": "array", "minItems": 1}},
	{"min", "the minimum", schema{"type": "number"}},
	{"max", "the maximum", schema{"type": "number"}},
	{"min_length", "the fewest characters, or items", count},
	{"max_length", "the most characters, or items", count},
	{"pattern", "a regular expression that the text must match", textValue},
}, []string{"type"}}

var expiresSection = section{"expires", "what follows if no answer arrives", []key{
	{"after", "the time limit of the answer", duration},
	{"then", "the default answer; without it the node fails with the code expired", anyValue},
}, []string{"after"}}

var escalationSection = section{"escalation", "who is asked when no answer has come for a time", []key{
	{"after", "how long the question has been open", duration},
	{"to", "who is asked from then on", textValue},
}, []string{"after", "to"}}

var scheduleSection = section{"schedule", "when runs begin, each on a thread of its own: `at` or `cron`", []key{
	{"cron", "minute, hour, day, month and weekday, such as \"0 8 * * 1-5\"", textValue},
	{"zone", "the time zone of cron, such as Europe/Berlin; by default UTC", textValue},
	{"at", "the time of the only run, such as \"2026-05-04T06:00:00Z\"", textValue},
	{"until", "when the last run may begin", textValue},
	{"input", "the input of each run: values by name", freeKeys},
	{"config", "the settings of each run: values by name", freeKeys},
}, nil}

var testSection = section{"test", "a test of the file", []key{
	{"name", "the name of the test", textValue},
	{"description", "the purpose of the test", textValue},
	{"input", "the input of the run: values by name", freeKeys},
	{"config", "the settings of the run: values by name", freeKeys},
	{"env", "the environment of the run", mapTo("", textValue)},
	{"now", "the time when the run starts, such as \"2026-11-21T09:30:00Z\"", textValue},
	{"mock", "the results of nodes that do not run, by node", mapTo("", refTo("mock"))},
	{"answers", "the answers in order: {node: answer}", schema{"type": "array", "items": schema{"type": "object", "minProperties": 1, "maxProperties": 1}}},
	{"expect", "the expected outcome", refTo("expect")},
}, []string{"name"}}

var mockSection = section{"mock", "the result of a node in a test: one of these", []key{
	{"result", "the result of every run of the node", anyValue},
	{"results", "the results in order, of which the last repeats; for a for_each, those of its items", schema{"type": "array", "minItems": 1}},
	{"error", "the failure: a message, or the long form", schema{"oneOf": []schema{textValue, refTo("failure")}}},
}, nil}

var mockErrorSection = section{"failure", "how a mocked node fails", []key{
	{"message", "the text of the error", textValue},
	{"code", "its code", textValue},
}, nil}

var expectSection = section{"expect", "what a test expects; missing keys are not checked", []key{
	{"status", "how the run ends; by default done, or what error and asks imply", oneOfWords("done", "failed", "interrupted")},
	{"path", "the nodes that run, step by step; nodes of one step as a list", schema{"type": "array", "items": someNames}},
	{"output", "fields of the output: values by name", freeKeys},
	{"state", "fields of the state: values by name", freeKeys},
	{"error", "part of the text of the error", textValue},
	{"code", "the code of the error", textValue},
	{"asks", "the nodes whose questions are open at the end", nameList},
}, nil}
