# frozen_string_literal: true

desc "Print how large each gem is, and put the table into guides/internals.md"
task(:house) do
  require_relative "../test/support/house/figures"
  figures = Support::House::Figures.new
  puts(figures)
  figures.write
end

namespace :house do
  desc "List the constants that gems use of each other in test/support/house/siblings.txt"
  task(:siblings) do
    require_relative "../test/support/house/siblings"
    Support::House::Siblings.write
  end

  desc "Count the files that one GET, one RPC call and one Rack request enter"
  task(:paths) do
    require_relative "../test/support/root"
    $LOAD_PATH.unshift(*Support::LIBS)
    require_relative "../test/support/house/paths"
    puts(Support::House::Paths.new)
  end

  desc "Show each word that has a better term, and lower the counts in test/support/house/words.txt"
  task(:words) do
    require_relative "../test/support/house/words"
    words = Support::House::Words.new
    Support::House::Words::PLACES.each_key { |place| puts(words.uses(place)) }
    words.write
  end
end
