# frozen_string_literal: true

require_relative "../test/support/house/map"

desc "Draw the rooms and their arrows from the code into #{Support::House::Map::FILE}"
task :map do
  changed = Support::House::Map.new(File.expand_path("..", __dir__)).write
  puts("#{Support::House::Map::FILE} #{changed ? "is drawn again" : "is up to date"}")
end
