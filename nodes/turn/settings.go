package turn

import (
	"fmt"
	"strings"

	"github.com/weftrun/weft/state/agent"
)

// settingsHelp describes the settings, one on each line, and the commands that change them.
func settingsHelp(c *Commands) string {
	var b strings.Builder
	for _, s := range agent.DescribeSettings() {
		fmt.Fprintf(&b, "%s: %s (default %s)", s.Name, s.Help, s.Default)
		if by := c.setting(s.Name); by != "" {
			fmt.Fprintf(&b, "; /%s sets it", by)
		}
		b.WriteByte('\n')
	}
	b.WriteString("\nA command sets it for the turn that its message begins, and with ! for the conversation. The others are set by the program.")
	return b.String()
}

// setting returns the name of the command that writes a setting, or "".
func (c *Commands) setting(name string) string {
	for _, cmd := range c.all {
		if cmd.Settings == nil {
			continue
		}
		for _, set := range cmd.Settings(cmd.Default).Names() {
			if set == name {
				return cmd.Name
			}
		}
	}
	return ""
}
