package message

import (
	"fmt"
	"strings"
)

// Role is the role of the author of a message.
type Role string

// The roles. There are no others; the speaker's own name goes into Message.Name.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// ParseRole reads a role in any case. It takes "human" for user and "ai" for
// assistant, as other systems call them.
func ParseRole(s string) (Role, error) {
	switch r := Role(strings.ToLower(s)); r {
	case RoleSystem, RoleUser, RoleAssistant, RoleTool:
		return r, nil
	case "human":
		return RoleUser, nil
	case "ai":
		return RoleAssistant, nil
	}
	return "", fmt.Errorf("unknown role %q; the roles are system, user (human), assistant (ai) and tool", s)
}

// UnmarshalText implements [encoding.TextUnmarshaler] by ParseRole.
func (r *Role) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRole(string(text))
	return err
}
