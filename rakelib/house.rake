# frozen_string_literal: true

require_relative "../test/support/house/figures"

desc "Print how large each gem is: files, lines, ceremony, public constants, circles of C"
task(:house) { puts(Support::House::Figures.new) }
