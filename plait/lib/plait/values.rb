# frozen_string_literal: true

# The floor of the house: files at which a program can begin require it, and all others count on it.
require "io/wait" # for Ruby before 3.2
require_relative "native"
require_relative "version"
require_relative "values/backoff"
require_relative "values/deadline"
require_relative "values/errors"
require_relative "values/job"
require_relative "values/outcome"
require_relative "values/own_code"
require_relative "values/quantity"
require_relative "values/secrets"
require_relative "values/suggestion"
require_relative "values/text_table"
require_relative "values/uninterruptible"
