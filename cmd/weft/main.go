// Command weft runs workflows written in YAML: see weft --help.
package main

import "github.com/weftrun/weft"

func main() { weft.Main(weft.Config{Stores: stores(), Chats: chats()}) }
