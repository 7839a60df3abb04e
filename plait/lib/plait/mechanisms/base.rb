# frozen_string_literal: true

# What all mechanisms stand on: files of this folder at which a program can begin require it, all others count on it.
require_relative "../values"
require_relative "interruption"
require_relative "state"
require_relative "options"
require_relative "time_limit"
require_relative "attempt"
require_relative "rails_execution"
require_relative "readiness"
require_relative "mechanism"
