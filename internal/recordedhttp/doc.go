// Package recordedhttp plays recorded answers of model servers to tests. A file holds a raw response,
// byte by byte, and the expected result of the client.
//
//	A name: what is wrong with the answer.
//	want: bad_answer
//	text: no JSON
//	-- response --
//	HTTP/1.1 200 OK
//	Content-Type: text/event-stream
//
//	data: {"choices":[
//
// want is the kind of the failure, or ok. text is a part of the error's text, or of what was answered.
// "then: hang" keeps the connection open after the last byte, and "then: flood" repeats the last line until the
// client leaves; without it the connection is closed.
package recordedhttp
