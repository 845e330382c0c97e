// Package sdktest runs scripts with the public clients of the LangGraph server, in JavaScript and
// in Python, for tests. It installs the clients from their registries into a cache of this user,
// once for each version.
package sdktest
