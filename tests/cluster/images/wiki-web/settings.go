package main

import "fmt"

type settings struct {
	redisAddress  string
	redisPassword string
	title         string
}

// settingsFromEnvironment names the variable that is missing, never a value.
func settingsFromEnvironment(getenv func(string) string) (settings, error) {
	for _, name := range []string{"REDIS_ADDRESS", "REDIS_PASSWORD", "SITE_TITLE"} {
		if getenv(name) == "" {
			return settings{}, fmt.Errorf("%s is not set", name)
		}
	}
	return settings{
		redisAddress:  getenv("REDIS_ADDRESS"),
		redisPassword: getenv("REDIS_PASSWORD"),
		title:         getenv("SITE_TITLE"),
	}, nil
}
