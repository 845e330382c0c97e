// Package skill offers folders with instructions, each with a file SKILL.md, to a model.
//
//	skills/
//	  report/
//	    SKILL.md       ---, name, description, ---, and the instructions
//	    style.md       what the instructions refer to
//	    scripts/sum.py
//
//	set, err := skill.Open("skills")
//	tools, err := set.Tools(skill.Config{Name: "skills"})
//
// A model gets the instructions in three stages. The description of the tool skills_load has the
// name and the description of each skill. The tool returns the instructions of one and the names of
// its files. skills_read returns a file. With Config.AllowExec there is also skills_run, which runs
// a script of the folder.
//
// No name and no symbolic link leads out of the folder of a skill. A script itself is a program: it
// may do what the process may do.
package skill
