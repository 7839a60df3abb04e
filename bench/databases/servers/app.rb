# frozen_string_literal: true

# The app: three queries a request, those of `plait lab databases`. Each server's file says how one value is asked for.
module App
  TABLE = "plait_lab_people"
  PAUSES = { "mysql" => "(SELECT SLEEP(%s)) pause", "postgres" => "pg_sleep(%s) pause" }.freeze

  module_function

  # @param url [String] of the database
  # @param seconds [String] that each query waits in the server
  # @yieldparam sql [String]
  # @yieldreturn [Object] the value of the first row
  # @return [Proc] a Rack app
  def build(url, seconds, &value)
    pause = format(PAUSES.fetch(url.start_with?("postgres") ? "postgres" : "mysql"), seconds) unless Float(seconds).zero?
    from = [TABLE, *pause].join(", ")
    count = 0
    lambda do |env|
      number = env["QUERY_STRING"][/\d+/]&.to_i || (count += 1)
      name, sum, people = statements(from, number).map(&value)
      [200, { "content-type" => "text/plain" }, ["#{name} #{Integer(sum)} #{Integer(people)}\n"]]
    end
  end

  def statements(from, number)
    key = (number * 7919 % 99_990) + 1
    ["SELECT name FROM #{from} WHERE id = #{key}",
     "SELECT SUM(id) FROM #{from} WHERE id BETWEEN #{key} AND #{key + 9}",
     "SELECT COUNT(*) FROM #{from} WHERE team = #{number % 100}"]
  end
end
