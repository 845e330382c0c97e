package workflow

import "slices"

var size = schema{"type": "string", "pattern": sizeText.String(), "$comment": "a size such as 4MiB"}

var sharedSection = section{"shared", "a bound that nodes share by its name", []key{
	{"concurrency", "at most so many attempts at once", count},
	{"rate", "at most so many beginnings in a time, such as 90/m", schema{"type": "string", "pattern": rateText.String(), "$comment": "a rate such as 10/s"}},
	{"burst", "at most so many beginnings at once after a rest", count},
}, nil}

var settingSection = section{"setting", "what a run is set to, in the long form", []key{
	{"type", "a type such as list<string>", textValue},
	{"default", "the value where a run is given none", anyValue},
	{"description", "what it is for", textValue},
}, []string{"type"}}

var envSection = section{"env", "a variable of the environment, in the long form", []key{
	{"type", "the type of the value; string where it is missing", oneOfWords("string", "int", "number", "bool")},
	{"from", "the name of the variable, where it is another", textValue},
	{"default", "the value where the variable is not set", schema{"type": []string{"string", "number", "boolean"}, "$comment": "a value"}},
	{"description", "what it is for", textValue},
}, nil}

var interruptSection = section{"interrupt", "where a run pauses", []key{
	{"before", "before these nodes run; \"*\" is each", someNames},
	{"after", "after these nodes have run; \"*\" is each", someNames},
}, nil}

// policySchemas are the keys that a node and defaults have.
var policySchemas = []key{
	{"timeout", "the longest one attempt may take", duration},
	{"idle_timeout", "the longest an attempt may go without a sign of life", duration},
	{"retry", "when a failed attempt is made again", refTo("retry")},
	{"limit", "the name of a shared limit", textValue},
	{"on_error", "what follows the failure of the last attempt: a node, several at once, a way, or ways of which the first that holds counts", schema{"oneOf": []schema{
		textValue, {"type": "array", "items": textValue, "minItems": 1},
		refTo("rescue"), {"type": "array", "items": refTo("rescue"), "minItems": 1},
	}}},
}

func policyKey(name string) key {
	return policySchemas[slices.IndexFunc(policySchemas, func(k key) bool { return k.name == name })]
}

var defaultsSection = section{"defaults", "what holds for nodes that say nothing themselves", policySchemas, nil}

var edgeSection = section{"edge", "a way between nodes", []key{
	{"from", "a node, several, or START", someNames},
	{"to", "a node, several at once, or END", someNames},
	{"if", "the way is taken when this holds", condValue},
}, []string{"from", "to"}}

var onFailureSection = section{"rescue", "a way on after a failure", []key{
	{"if", "the way is taken when this holds; expressions see error", condValue},
	{"to", "a node, several at once, or END; where the node leads without it", someNames},
	{"set", "writes fields: values by name", freeKeys},
	{"else", "a node, several at once, or END, when no condition holds", someNames},
}, nil}

var cacheSection = section{"cache", "what a kept result depends on", []key{
	{"key", "what the result depends on; the whole state where it is missing", anyValue},
	{"ttl", "how long a result holds", duration},
}, nil}

var askSection = section{"ask", "a question to a person", []key{
	{"title", "one line: what is asked", textValue},
	{"show", "what to read before answering", textValue},
	{"data", "anything for programs that show the question", anyValue},
	{"answer", "the type of the answer; string where it is missing", textValue},
	{"form", "the fields of the answer by name: a type, or the long form", mapTo(identifier.String(), schema{"oneOf": []schema{textValue, refTo("form")}})},
	{"expires", "how long an answer is waited for", schema{"oneOf": []schema{duration, refTo("expires")}}},
	{"key", "a text that tells this question from others of the node", textValue},
	{"secret", "whether what is shown of the decision leaves out the answer; a store that does not encrypt does not record it", flagValue},
}, []string{"title"}}

var formSection = section{"form", "a field of a form, in the long form", []key{
	{"type", "a type such as list<string>", textValue},
	{"title", "what the field is called", textValue},
	{"description", "what the field is for", textValue},
	{"optional", "whether the field may be missing", flagValue},
	{"default", "the value where the field is missing", anyValue},
	{"enum", "the values that are possible; of a list, those of its items", schema{"type": "array", "minItems": 1}},
	{"min", "the least number", schema{"type": "number"}},
	{"max", "the greatest number", schema{"type": "number"}},
	{"min_length", "the fewest characters, or items", count},
	{"max_length", "the most characters, or items", count},
	{"pattern", "a regular expression that a text matches", textValue},
}, []string{"type"}}

var expiresSection = section{"expires", "what holds when nobody answers", []key{
	{"after", "how long an answer is waited for", duration},
	{"then", "the answer when there was none; without it the node fails with the code expired", anyValue},
}, []string{"after"}}

var testSection = section{"test", "a test of the file", []key{
	{"name", "what the test is called", textValue},
	{"description", "what the test is for", textValue},
	{"input", "the input of the run: values by name", freeKeys},
	{"config", "what the run is set to: values by name", freeKeys},
	{"env", "the environment of the run", mapTo("", textValue)},
	{"now", "when the run begins, such as \"2026-11-21T09:30:00Z\"", textValue},
	{"mock", "what nodes give instead of running, by node", mapTo("", refTo("mock"))},
	{"answers", "the answers to give, in their order: {node: answer}", schema{"type": "array", "items": schema{"type": "object", "minProperties": 1, "maxProperties": 1}}},
	{"expect", "what is to come of it", refTo("expect")},
}, []string{"name"}}

var mockSection = section{"mock", "what a node gives in a test: one of these", []key{
	{"result", "the result, each time", anyValue},
	{"results", "the results, one after the other, of which the last stays; of a for_each those of its items", schema{"type": "array", "minItems": 1}},
	{"error", "the failure: a message, or the long form", schema{"oneOf": []schema{textValue, refTo("failure")}}},
}, nil}

var mockErrorSection = section{"failure", "how a mocked node fails", []key{
	{"message", "the text of the error", textValue},
	{"code", "its code", textValue},
}, nil}

var expectSection = section{"expect", "what a test expects; what is missing is not looked at", []key{
	{"status", "how the run ends; done where nothing else follows", oneOfWords("done", "failed", "interrupted")},
	{"path", "the nodes that run, step by step; those of one step as a list", schema{"type": "array", "items": someNames}},
	{"output", "fields of the output: values by name", freeKeys},
	{"state", "fields of the state: values by name", freeKeys},
	{"error", "a part of the error's text", textValue},
	{"code", "the code of the error", textValue},
	{"asks", "the nodes whose questions are open at the end", nameList},
}, nil}
