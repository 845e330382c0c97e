package redis

// Encode is encode, for tests that look at the server.
func Encode(name string) string { return encode(name) }
