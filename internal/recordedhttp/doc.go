// Package recordedhttp plays prepared responses of model servers in tests. They are written from
// the references of the APIs. A file has the bytes of a raw response, and the expected result of
// the client.
//
//	A name: what is wrong with the answer.
//	want: bad_answer
//	text: must be a JSON object
//	-- response --
//	HTTP/1.1 200 OK
//	Content-Type: text/event-stream
//
//	data: {"choices":[
//
// want is the kind of the failure, or ok. text is a part of the error's text, or of the response.
// "then: hang" keeps the connection open after the last byte. "then: flood" repeats the last line
// until the client disconnects, and "then: flood-event" the last event. By default the connection
// is closed.
package recordedhttp
