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
end
