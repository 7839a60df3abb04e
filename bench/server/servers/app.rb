# frozen_string_literal: true

# The apps that are served, by name.
APPS = {
  "hello" => ->(_env) { [200, { "content-type" => "text/plain" }, ["Hello, world!"]] },
  "waiting" => lambda do |_env|
    sleep(0.003)
    [200, { "content-type" => "text/plain" }, ["Hello, world!"]]
  end
}.freeze
